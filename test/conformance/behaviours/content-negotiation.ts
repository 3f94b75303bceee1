// In what form bodies come and go.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const CONTENT_NEGOTIATION: BehaviourLines = {
  "N-01":
    "a body without a Content-Type is JSON; JSON and YAML are accepted with any parameters, any other type is 415",
  "N-02": "415 lists the accepted types",
  "N-03": "YAML is YAML 1.1: yes and on are booleans, 010 is octal, merge keys work, only the first document counts",
  "N-04": "JSON can be sent as YAML, YAML not as JSON; a byte order mark or a compressed body is 400",
  "N-05": "no or any Accept gives JSON; only unknown types are 406; weights count, and ties keep their order",
  "N-06": "a client that prefers protobuf gets it for built-in kinds, and JSON for others if it accepts that, too",
  "N-07": "a form that cannot be given (`as=`) is skipped, and 406 when nothing else is taken",
  "N-08": "CBOR is off: skipped in Accept, refused in bodies",
  "N-09": "responses are `application/json` without a charset and not cacheable; text is UTF-8 with nosniff",
  "N-10": "JSON is compact with a newline; pretty on request, and for curl, wget and browsers",
  "N-11": "large responses to get and list are gzipped on request, watches never",
  "N-12": "answers come in YAML too, with sorted keys, also as a Table",
  "N-13": "integers keep all of their 64 bits; 1.0 and 1e3 come back as integers",
  "N-14": "of duplicate keys the last counts, with a warning",
  "N-15": "names of fields are case-sensitive",
  "N-16": "discovery and OpenAPI answer 304 to a known ETag and vary by Accept, resources never",
  "N-17": "built-in kinds come and go in protobuf: objects, lists, frames of watches, refusals",
  "N-18": "kinds without a message are refused in protobuf with 406, but for their metadata; a Table is JSON or YAML",
  "N-19": "discovery comes in protobuf too",
};
