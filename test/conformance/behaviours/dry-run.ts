// Effects that a request would have.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const DRY_RUN: BehaviourLines = {
  "Y-01": "a dry run answers as the real one, and leaves nothing behind",
  "Y-02": "only `All` is a dry run, any other value is 422",
  "Y-03": "a creation shows no version, a change the old one",
  "Y-04": "it is refused for what the real one would be",
};
