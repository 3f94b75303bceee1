// Who may do what, and how one asks.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const AUTHORIZATION_AND_REVIEWS: BehaviourLines = {
  "Z-01": "reviews are taken in protobuf, as kubectl sends them",
  "Z-02": "a review is answered with 201 and says what is allowed",
  "Z-03": "the other reviews: rules, oneself, subjects, tokens",
  "Z-04": "403 says who may not do what, and where",
  "Z-05": "403 for other paths, whether they exist or not",
  "Z-06": "RBAC rules: wildcards, subresources, names, paths",
  "Z-07": "a list by metadata.name is allowed to who may have that name",
  "Z-08": "an apply that creates takes the right to create",
  "Z-09": "403 comes before 404",
  "Z-10": "nobody gives more than they have",
};
