// Permissions, and how a client asks for them.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const AUTHORIZATION_AND_REVIEWS: BehaviourLines = {
  "Z-01": "reviews can be sent in protobuf, as kubectl does",
  "Z-02": "a review is answered with 201 and the decision",
  "Z-03": "the other reviews: rules, oneself, subjects, tokens",
  "Z-04": "403 names the user, the verb and the resource",
  "Z-05": "403 for other paths, existing or not",
  "Z-06": "RBAC rules: wildcards, subresources, names, paths",
  "Z-07": "a list by metadata.name is allowed to users who may list that name",
  "Z-08": "an apply that creates requires the verb create",
  "Z-09": "403 comes before 404",
  "Z-10": "users can only grant permissions that they have",
};
