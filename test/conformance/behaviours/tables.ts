// Answers for people, and answers that have only metadata.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const TABLES: BehaviourLines = {
  "T-01": "kubectl's Accept gives a Table",
  "T-02": "its metadata is that of the list, or the version of the object",
  "T-03": "the first column is the name, the others are those of the resource, by priority",
  "T-04": "cells stand as the columns do; what is absent is null, numbers are numbers, ages are words",
  "T-05": "a row has metadata, the object or nothing, as includeObject says",
  "T-06": "creations, single reads and watches give Tables too, refusals and deletions do not",
  "T-07": "metadata alone can be had of lists and of objects, each in its own form",
  "T-08": "metadata alone can be listed and watched, as caches do",
};
