"""What the races of the table of claims do: functions of a Bench that list Cases."""
