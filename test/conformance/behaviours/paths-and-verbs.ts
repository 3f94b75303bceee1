// How paths, methods and query parameters are read.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const PATHS_AND_VERBS: BehaviourLines = {
  "R-01":
    "a collection is listed, added to and emptied; PUT and PATCH need a name (400), of built-in kinds they are no method of it (405)",
  "R-02": "an object is read, replaced, patched and deleted with 200; only an apply that creates answers 201",
  "R-03":
    "namespaced objects live below their namespace; without one the collection can be listed and watched, not written",
  "R-04": "a cluster-scoped resource is not found in a namespace, nor a namespaced object outside of one",
  "R-05": "one slash at the end is taken, an empty segment is not, except that an empty namespace means all of them",
  "R-06": "paths are case-sensitive, and know neither short names nor singulars",
  "R-07": "an unknown path is 404: with a Status below a group that is served, as plain text elsewhere",
  "R-08": "a verb that a subresource lacks is 405, and the text names the verb as RBAC does",
  "R-09": "OPTIONS, TRACE and unknown methods are 405; HEAD is a GET without the body, of built-in kinds 405",
  "R-10": "a name is what the percent-decoded segment says; an impossible one is not found, and `..` climbs nowhere",
  "R-11": "`watch` makes a list a watch unless it is false or 0, and has no effect on an object",
  "R-12": "the older paths with /watch/ still watch",
  "R-13": "a boolean parameter is true for any text but `false` and `0`",
  "R-14": "a numeric parameter that is no number is 400, in the words of Go's parser",
  "R-15": "unknown parameters are ignored, and of a repeated one the first counts",
  "R-16": "`timeout` is a Go duration: a bad one is 400, a long one is cut to the limit",
  "R-17": "authorization sees the verbs of Kubernetes, and a list by metadata.name as one of that name",
  "R-18":
    "/ lists the paths in order, /api and /apis the versions and groups; discovery answers a POST too, /version does not",
  "R-19":
    "201 for creations and reviews, 200 for the rest, 202 for a deletion with orphanDependents=false that has to wait",
  "R-20": "HTTP/1.1 and HTTP/2 are served on one TLS port, without a Server header",
};
