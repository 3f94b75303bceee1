// Reads JSON bodies that are not Kubernetes objects.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { badRequestError } from "@postern/apimachinery/meta/api-error";

/** Throws 400 for anything but a JSON object. */
export function readJsonBody(bytes: Uint8Array): JsonObject {
  try {
    const body = parseJson(bytes);
    if (isJsonObject(body)) return body;
  } catch (error) {
    throw badRequestError("the body must be a JSON object", error);
  }
  throw badRequestError("the body must be a JSON object");
}
