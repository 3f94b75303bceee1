// How changes are followed.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const WATCHES: BehaviourLines = {
  "W-01": "a stream of events, one JSON document a line, whose head comes at once",
  "W-02": "without a version, or from 0, what exists comes first; from a version everything after it",
  "W-03": "from a compacted version one ERROR event is sent, and the watch ends",
  "W-04": "from a future version nothing comes until it is reached; one that is no number is 500",
  "W-05": "DELETED brings the last state with the version of the deletion",
  "W-06": "an object that leaves a selection is DELETED, one that enters is ADDED",
  "W-07": "one object can be watched by its name, and selectors combine",
  "W-08": "timeoutSeconds ends the stream without an event",
  "W-09": "bookmarks report the version on request",
  "W-10": "a list can be streamed: what exists, then a bookmark that says so",
  "W-11": "options that do not go together are 422",
  "W-12": "a streamed list from a future version is an ERROR event of 504",
  "W-13": "events come as Tables or as metadata too, in JSON only",
  "W-14": "a watch goes over a WebSocket too, where a token may be a subprotocol",
  "W-15": "one event for each write that changes something, in the order of versions",
  "W-16": "objects of events have the version of the path",
  "W-17": "clients that do not read are disconnected, and not buffered for",
  "W-18":
    "a watch may end at any time: here it does when the right to it is taken away, where Kubernetes lets it go on",
  "W-19": "a server that shuts down ends its watches cleanly",
};
