"""Find unknown fields, types and values in answers: `lint --shapes FOLDER`, `record scenarios --refresh`."""
