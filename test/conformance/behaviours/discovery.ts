// Facts that a client can find out about the server.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const DISCOVERY: BehaviourLines = {
  "V-01": "groups, versions and resources are listed, each at its path",
  "V-02": "a resource is listed with its names, verbs, categories and subresources",
  "V-03": "aggregated discovery on request, under the requested type, with an ETag",
  "V-04": "the aggregated form of a group, its versions and their resources",
  "V-05": "only /api and /apis have the aggregated form",
  "V-06": "discovery requires authentication",
  "V-07": "storageVersionHash follows the stored version",
  "V-08": "versions are ordered by maturity, the first is preferred",
};
