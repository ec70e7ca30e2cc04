"""Find shapes of streams that are not known yet: `lint --shapes FOLDER` and `record scenarios --refresh`."""
