// The field manager of a write: the query parameter, or a default from the User-Agent.

import { managerFromUserAgent } from "@postern/structured-merge/managedfields/manager-from-user-agent";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";

export const fieldManagerOf = (fieldManager: string | undefined, request: ApiRequest): string =>
  fieldManager !== undefined && fieldManager !== ""
    ? fieldManager
    : managerFromUserAgent(asUtf8(headerOf(request, "user-agent")));

/** Node gives each byte of a header as one character. */
const asUtf8 = (header: string): string =>
  BEYOND_ASCII.test(header) ? Buffer.from(header, "latin1").toString() : header;

const BEYOND_ASCII = /[\u0080-\u00ff]/;
