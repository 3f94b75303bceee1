// How objects are chosen.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const SELECTORS: BehaviourLines = {
  "Q-01": "label selectors: existence, equality, sets and order, all of which must hold",
  "Q-02": "`!=` and `notin` also choose what lacks the key; `<` and `>` compare integers",
  "Q-03": "a syntax error is 400, in the words of the parser",
  "Q-04": "keys and values of a selector have to be possible labels",
  "Q-05": "field selectors: equality and inequality, with backslashes, and nothing else",
  "Q-06": "name, namespace and declared fields can be selected by; others are 400",
  "Q-07": "a declared field that is absent counts as empty",
  "Q-08": "both selectors must hold, for lists, watches and deletions alike",
};
