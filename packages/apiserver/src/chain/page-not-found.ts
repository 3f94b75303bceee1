// The response for unknown paths.

import { type ApiResponse, textResponse } from "../transport/api-response.ts";

export const pageNotFound = (): ApiResponse => textResponse(404, "404 page not found\n");
