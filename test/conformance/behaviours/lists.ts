// How collections are read.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const LISTS: BehaviourLines = {
  "L-01": "a list has its kind, a resourceVersion and items in the order of namespace and name, also when it is empty",
  "L-02": "`limit` gives a page, a token for the next one, and how many remain when no selector hides it",
  "L-03": "all pages show the state of the first",
  "L-04": "a token brings its own version, and a bad one is 400",
  "L-05": "an expired token is 410 with a fresh one that goes on in the newest state",
  "L-06": "resourceVersion and resourceVersionMatch choose the newest state, any, one not older, or exactly one",
  "L-07": "combinations of them that say nothing are 422",
  "L-08": "a resourceVersion that is no number is 400",
  "L-09": "a list after a write shows it",
  "L-10": "a namespace that does not exist has an empty list",
  "L-11": "a read of one object takes resourceVersion, and passes over selectors",
  "L-12": "versions of lists never go back, and a watch from one misses nothing",
  "L-13": "timeoutSeconds is taken on lists",
  "L-14":
    "items of built-in kinds have no type of their own, in any encoding; those of custom kinds and of metadata have",
};
