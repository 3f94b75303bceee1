// How objects come to be, and how names are generated.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const CREATION: BehaviourLines = {
  "C-01": "201 and the stored object, with uid, resourceVersion, generation 1, creationTimestamp and managedFields",
  "C-02": "fields of the server are overwritten or dropped silently",
  "C-03": "a resourceVersion in the body is 500, unless it is empty or 0",
  "C-04": "a status in the body is dropped where status is a subresource",
  "C-05": "without name and generateName 422",
  "C-06": "a namespace is cleared on cluster-scoped objects, filled in on others, and 400 when it is another",
  "C-07": "a namespace that does not exist is 404 before anything is validated",
  "C-08": "a name is a DNS subdomain of at most 253 characters",
  "C-09": "a generated name is the first 58 bytes of the prefix and five characters without vowels",
  "C-10": "a bad prefix is 422 and names what was generated; it may end in a dash, not in a dot",
  "C-11": "with both, the name counts and generateName is kept",
  "C-12": "taken generated names are tried again, then 409 with Retry-After",
  "C-13": "a dry run checks everything and answers with a uid and without a resourceVersion",
  "C-14": "null is dropped or defaulted where it is not allowed; empty text, 0 and false are kept",
  "C-15": "empty labels, annotations and finalizers are dropped",
  "C-16": "an object without spec is valid unless the schema requires one",
  "C-17": "a request is authenticated, authorized, decoded, admitted and validated in this order",
  "C-18": "of concurrent creations of one name exactly one succeeds",
};
