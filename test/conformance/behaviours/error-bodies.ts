// Form of a refusal.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const ERROR_BODIES: BehaviourLines = {
  "E-01": "an error is a Status whose code is that of the response; details stay away when there are none",
  "E-02": "details.kind is the plural where an object is concerned, the Kind where its content is",
  "E-03": "404 names the object and its resource; a core resource has no group in the text",
  "E-04": "409 AlreadyExists says so, and whether the existing object is terminating",
  "E-05": "409 Conflict says that the object has been modified",
  "E-06": "a PUT with another uid is a Conflict of the precondition on the uid",
  "E-07": "a deletion with another uid or version is a Conflict that names both",
  "E-08": "422 names Kind and object and lists the causes; a message said twice stands once in the text",
  "E-09": "each cause has a reason by its type and a body in its form; strings are quoted as in Go",
  "E-10": "400 for a body that has another name or namespace than the path",
  "E-11": "400 for another apiVersion in the body, and for a body without kind or apiVersion",
  "E-12": "422 for another kind in the body",
  "E-13": "400 for JSON that cannot be parsed, in the words of Go's parser",
  "E-14": "400 for metadata of a wrong type, naming the field",
  "E-15": "401 says Unauthorized and nothing else",
  "E-16": "410 has the reason Expired",
  "E-17": "413 names the limit",
  "E-18": "429 has Retry-After; a server that is saturated says so as plain text",
  "E-19": "504 for a resourceVersion of the future, after waiting for it",
  "E-20": "504 for a request that exceeds its deadline",
  "E-21": "a 500 of a known cause says it, and one of an untyped error has no reason",
  "E-22": "a server that shuts down finishes requests in progress and accepts no new connections",
  "E-23": "errors after the start of a watch are events of it",
};
