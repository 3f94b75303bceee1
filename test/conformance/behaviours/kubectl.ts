// Requests of kubectl, command by command.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const KUBECTL: BehaviourLines = {
  "K-01": "it discovers first, and keeps what it found",
  "K-02": "get, also as YAML, and followed",
  "K-03": "get of a category",
  "K-04": "create, validated by the server",
  "K-05": "apply on the client's side",
  "K-06": "apply on the server's side, with conflicts line by line",
  "K-07": "dry runs and diff",
  "K-08": "the move from one apply to the other",
  "K-09": "edit, patch, label, annotate and replace",
  "K-10": "delete, and the wait for its end",
  "K-11": "wait",
  "K-12": "describe",
  "K-13": "explain, api-resources, auth and cluster-info",
  "K-14": "the headers it sends",
  "K-15": "how it prints refusals",
};
