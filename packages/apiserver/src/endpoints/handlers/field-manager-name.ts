// Names the field manager of a write: what the client says, else what its User-Agent says.

import { managerFromUserAgent } from "@postern/apimachinery/managedfields/manager-from-user-agent";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";

export const fieldManagerOf = (fieldManager: string | undefined, request: ApiRequest): string =>
  fieldManager !== undefined && fieldManager !== ""
    ? fieldManager
    : managerFromUserAgent(headerOf(request, "user-agent"));
