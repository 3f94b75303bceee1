// The shape of a recorded scenario: requests in their order, each with the answer that kube-apiserver gave.

import { readdirSync, readFileSync } from "node:fs";
import type { JsonValue } from "@postern/apimachinery/json/json-value";

export type RecordedRequest = {
  readonly method: string;
  readonly path: string;
  /** A user of tokens.csv, another bearer token, or null for none. */
  readonly user: string | null;
  readonly headers: { readonly [name: string]: string };
  readonly json?: JsonValue;
  readonly text?: string;
  readonly bytes_base64?: string;
};

export type RecordedResponse = {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] };
  readonly json?: JsonValue;
  readonly text?: string;
  /** The events of a watch, in place of a body. */
  readonly frames?: readonly JsonValue[];
};

export type Exchange = { readonly request: RecordedRequest; readonly response: RecordedResponse };

export type Step = Exchange & {
  readonly note?: string;
  /** "shape": the answer depends on the server it came from, only its status and kind are alike. */
  readonly compare?: string;
  /** Requests made while the watch was open. */
  readonly concurrent?: readonly Exchange[];
};

export type Scenario = { readonly id: string; readonly title: string; readonly steps: readonly Step[] };

const FOLDER = new URL("../testdata/golden/", import.meta.url);

export const readScenarios = (): readonly Scenario[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")));
