// How objects are patched.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const PATCHES: BehaviourLines = {
  "P-01": "JSON, merge and apply patches are taken; other types and none are 415 with the list",
  "P-02": "a missing object is 404, except for apply",
  "P-03": "a JSON patch that does not apply is 422 with one general text",
  "P-04": "a patch that cannot be read is 400",
  "P-05": "JSON patches mean what they mean to the library of kube-apiserver",
  "P-06": "413 for more than 10,000 operations",
  "P-07": "merge patches follow RFC 7396, and have to be objects",
  "P-08": "name, kind, apiVersion and uid cannot be patched",
  "P-09": "a resourceVersion in a patch is a lock",
  "P-10": "without one, patches at once never conflict",
  "P-11": "a patch that changes nothing writes nothing; status and spec keep to their own paths",
  "P-12": "the outcome is validated as a PUT would be",
  "P-13": "fieldManager, force and dryRun are validated",
  "P-14": "a JSON patch may write managedFields",
};
