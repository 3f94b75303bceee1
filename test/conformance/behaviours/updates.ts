// How objects are replaced.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const UPDATES: BehaviourLines = {
  "U-01": "fields missing in the body are removed",
  "U-02": "a PUT that changes nothing writes nothing",
  "U-03": "generation counts changes of anything but metadata and status, and the beginning of a deletion",
  "U-04": "another resourceVersion is a Conflict, also a future one; one that is no number is 500",
  "U-05": "another uid is a Conflict",
  "U-06": "fields of the server are restored silently; setting deletionTimestamp is 422",
  "U-07": "generateName may change, the name may not",
  "U-08": "managedFields can be cleared by one empty entry; malformed ones change nothing",
  "U-09": "metadata is validated as on creation; a finalizer without a domain is warned of",
  "U-10": "duplicate owners are merged, with a warning",
  "U-11": "a PUT to a missing object is 404",
  "U-12": "a change of an immutable field is reported twice in the causes, once in the text",
  "U-13": "a terminating object can still be changed",
  "U-14": "versions are locks of one object, and count across all resources",
};
