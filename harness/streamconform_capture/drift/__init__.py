"""Find what is not known in recorded answers: `lint --shapes FOLDER` and `record scenarios --refresh`."""
