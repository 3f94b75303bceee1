// What goes with its owner, or with its namespace.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const OWNERS_AND_NAMESPACES: BehaviourLines = {
  "G-01": "an owner is named by apiVersion, kind, name and uid",
  "G-02": "at most one owner is the controller",
  "G-03": "an Event owns nothing",
  "G-04": "dependents go after, before, or not with their owner, as the policy says",
  "G-05": "who has another owner stays",
  "G-06": "who has an owner that does not exist goes",
  "G-07": "owners in other scopes count as absent, or are reported",
  "G-08": "to block the deletion of an owner takes a right on it",
  "G-09": "owners in a circle do not block each other",
  "G-10": "a namespace goes once it is empty",
  "G-11": "nothing new comes into a namespace that is going",
  "G-12": "the namespaces of the system stay",
};
