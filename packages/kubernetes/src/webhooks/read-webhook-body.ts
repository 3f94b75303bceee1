// Reads the body of the answer of a webhook.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { checkValues } from "@postern/apiserver/endpoints/decode/parse-body";

/** `refused` makes the error of the review that was asked for. */
export function readWebhookBody(text: string, refused: (why: string) => Error): JsonObject {
  try {
    checkValues(text);
    const value = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw refused(`the answer cannot be read: ${error instanceof Error ? error.message : "unknown"}`);
  }
  throw refused("the answer is no JSON object");
}
