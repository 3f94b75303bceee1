// Objects that are deleted with their owner, or with their namespace.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const OWNERS_AND_NAMESPACES: BehaviourLines = {
  "G-01": "an owner is named by apiVersion, kind, name and uid",
  "G-02": "at most one owner is the controller",
  "G-03": "an Event owns nothing",
  "G-04": "dependents go after, before, or not with their owner, as the policy says",
  "G-05": "a dependent with another owner stays",
  "G-06": "a dependent of a missing owner is deleted",
  "G-07": "owners in other scopes count as absent, or are reported",
  "G-08": "blocking the deletion of an owner requires a permission on it",
  "G-09": "owners in a circle do not block each other",
  "G-10": "a namespace is deleted once it is empty",
  "G-11": "nothing is created in a terminating namespace",
  "G-12": "the system namespaces cannot be deleted",
};
