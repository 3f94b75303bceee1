// How objects go.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const DELETION: BehaviourLines = {
  "D-01": "without finalizers a deletion answers a Status that names the object and its uid",
  "D-02": "with finalizers it answers the object, which is terminating",
  "D-03": "DeleteOptions come as JSON, as YAML, as parameters or not at all",
  "D-04": "other bodies are refused",
  "D-05": "options are validated, and may not contradict each other",
  "D-06": "preconditions on uid and version are a Conflict when they do not hold",
  "D-07": "each propagation policy leaves its finalizer, and a later one replaces it",
  "D-08": "orphanDependents says the same in the older way",
  "D-09": "gracePeriodSeconds says nothing where nothing ends slowly",
  "D-10": "a terminating object gets no new finalizers",
  "D-11": "removing the last finalizer deletes the object",
  "D-12": "a deletion cannot be undone",
  "D-13": "while an object is terminating its name is taken",
  "D-14": "a dry run deletes nothing",
  "D-15": "a deleted collection is answered as the list of what was selected",
  "D-16": "a deletion answers no Table",
  "D-17": "a recreated object has another uid",
};
