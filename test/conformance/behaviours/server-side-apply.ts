// Ownership of fields.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const SERVER_SIDE_APPLY: BehaviourLines = {
  "S-01": "apply needs a fieldManager",
  "S-02": "apply creates missing objects, with permission to create; a status is not created",
  "S-03": "the applied object names its apiVersion, kind and name, in JSON or YAML, without managedFields",
  "S-04": "the same configuration again writes nothing",
  "S-05": "a field given up is removed once it has no owner; equal values can have several owners",
  "S-06": "another's field is a conflict that names its owner",
  "S-07": "several conflicts are listed by owner, with a cause each",
  "S-08": "force takes the fields over",
  "S-09": "an entry names manager, operation, version, time and subresource; entries are sorted",
  "S-10": "which paths an entry lists, and which are never tracked",
  "S-11": "the default manager is the User-Agent",
  "S-12": "the time of an entry changes only with its fields or their values",
  "S-13": "more than ten entries of updates are joined, the oldest first",
  "S-14": "fields without owners belong to before-first-apply after the first apply",
  "S-15": "lists are owned as a map, a set or a whole; duplicates are 500",
  "S-16": "an unknown field in an apply is 500, whatever fieldValidation says",
  "S-17": "labels, annotations, finalizers and owners are owned item by item",
  "S-18": "apply on the object leaves status alone, and the other way round",
  "S-19": "a resourceVersion in the applied object is a lock",
  "S-20": "a dry run works for both creation and change",
  "S-21": "giving up the last field inside an object leaves it empty",
  "S-22": "kubectl moves what it owned by update over to apply",
  "S-23": "where there is no schema, maps are owned by key and lists as a whole",
  "S-24": "a schema that changes between atomic and granular changes the owned fields with the next apply",
  "S-25": "an object that is too large is written without managedFields",
};
