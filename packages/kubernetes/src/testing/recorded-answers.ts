// Answers of a real kube-apiserver, in the form in which they are recorded and compared: without what a server chooses.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

export type RecordedRequest = {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly json?: JsonValue;
  readonly contentType?: string;
};

export type RecordedAnswer = {
  readonly status: number;
  /** Of a refusal: its reason, text, and once each the reason and field of its causes. */
  readonly reason?: string;
  readonly message?: string;
  readonly causes?: readonly string[];
  /** Of any other answer. */
  readonly json?: JsonValue;
  /** Their texts, where the step is about them. */
  readonly warnings?: readonly string[];
};

/** Each file is a list of them, which are sent one after the other to a new cluster. */
export type RecordedStep = RecordedRequest & {
  readonly response: RecordedAnswer;
  /** Later steps need the object; its content is not compared. */
  readonly onlyStatus?: true;
  /** Its warnings are compared, and nothing else. */
  readonly onlyWarnings?: true;
};

/** The part of an answer to a step that is compared. */
export function comparedOf(
  { onlyStatus, onlyWarnings }: Pick<RecordedStep, "onlyStatus" | "onlyWarnings">,
  { status, json, warnings }: { readonly status: number; readonly json: unknown; readonly warnings: readonly string[] },
): RecordedAnswer {
  if (onlyWarnings === true) return { status, warnings };
  return onlyStatus === true ? { status } : answerOf(status, json);
}

const CHOSEN = new Set([
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "resourceVersion",
  "managedFields",
  "lastTransitionTime",
  "lastPhaseTransitionTime",
  "startTime",
  "timeAdded",
  "clusterIP",
  "clusterIPs",
  "continue",
  "expirationTimestamp",
]);

/** Lists and maps that Go has and JSON may leave out are null once they have been stored; a dry run shows them empty. */
const isEmptyOf = (name: string, value: JsonValue): boolean =>
  (name === "endpoints" || name === "limits" || name === "ports") && isJsonArray(value) && value.length === 0;

/** The claims of a token that name objects. */
function boundObjects(token: string): JsonValue {
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return withoutChosen({ sub: claims.sub, objects: claims["kubernetes.io"] });
}

function withoutChosen(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutChosen);
  if (!isJsonObject(value)) return value;
  const kept: [string, JsonValue][] = Object.entries(value).flatMap(([name, member = null]): [string, JsonValue][] => {
    if (CHOSEN.has(name)) return [];
    if (/controller-uid$/.test(name)) return [[name, "<uid>"]];
    if (name === "token" && typeof member === "string") return [[name, boundObjects(member)]];
    return [[name, isEmptyOf(name, member) ? null : withoutChosen(member)]];
  });
  return Object.fromEntries(kept);
}

/** Objects in faults have the names of Go's internal types, which nothing else shows. */
const withoutObjects = (message: string): string =>
  message
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>")
    .replaceAll(
      /(Invalid|Duplicate|Unsupported) value: (\{.*?\}|\[.*?\])(?=: [a-z`'(]|, [a-z]+[.[]|\]?$)/g,
      "$1 value: <object>",
    );

function answerOf(status: number, body: unknown): RecordedAnswer {
  // A body was JSON.
  const json = body as JsonValue;
  if (status < 400 || !isJsonObject(json)) return { status, json: withoutChosen(json) };
  const { message, reason, details } = json as { message?: string; reason?: string; details?: JsonObject };
  const causes = (details?.["causes"] ?? []) as readonly { readonly reason?: string; readonly field?: string }[];
  return {
    status,
    ...(reason === undefined || reason === "" ? {} : { reason }),
    message: withoutObjects(message ?? ""),
    ...(causes.length === 0 ? {} : { causes: [...new Set(causes.map((cause) => `${cause.reason} ${cause.field}`))] }),
  };
}
