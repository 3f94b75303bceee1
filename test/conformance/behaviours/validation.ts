// How bodies are decoded and held against their schema.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const VALIDATION: BehaviourLines = {
  "F-01": "fieldValidation is Ignore, Warn or Strict; Warn if nothing is said",
  "F-02": "Warn: unknown and duplicate fields are warned of, and unknown ones never stored",
  "F-03": "Strict: they are 400, and 422 as the outcome of a patch",
  "F-04": "keys twice in YAML are reported with their line",
  "F-05": "the operations of a JSON patch are checked as well",
  "F-06": "warnings are sent with errors too, escaped and limited",
  "F-07": "schema violations are 422, with a message for each rule",
  "F-08": "rules that could not run are mentioned",
  "F-09": "a rule in CEL is reported with its message",
  "F-10": "defaults are filled in on writes and reads, after unknown fields are gone",
  "F-11": "1.0 is an integer, 1.5 is none; int32 and int64 have their range",
  "F-12": "an update is not rejected for errors that existed before",
  "F-13": "JSON that nests too deep is 400",
};
