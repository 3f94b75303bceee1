// Rejects requests for built-in kinds that accept none of the served media types with 406, before any handler, as the routes of kube-apiserver do.
// Source: github.com/emicklei/go-restful/v3 curly.go, jsr311.go; k8s.io/apiserver/pkg/endpoints/installer.go

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";
import { OUTPUT_MEDIA_TYPES, STREAM_MEDIA_TYPES } from "./negotiate-output.ts";

/** Any type of an application is taken as well, which upstream refuses here and takes everywhere else. */
const ALWAYS_TAKEN = ["*/*", "application/*"];

/** Throws 406. Parameters do not matter yet. Lists are also watched, and so have more to offer. */
export function refuseUnroutable(request: Pick<ApiRequest, "headers">, isList = false): void {
  const accept = headerOf(request, "accept");
  if (accept === "") return;
  const produced = isList ? [...OUTPUT_MEDIA_TYPES, ...STREAM_MEDIA_TYPES] : OUTPUT_MEDIA_TYPES;
  const types = accept.split(",").map((clause) => (clause.split(";")[0] ?? "").trim());
  if (types.some((type) => ALWAYS_TAKEN.includes(type) || produced.includes(type))) return;
  throw new ApiError({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${produced.join(", ")}`,
    details: {},
  });
}
