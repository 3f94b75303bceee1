import type { RunningPlatform } from "../../../testing/running-platform.ts";

/** Sends a request as a directory does. `path`: below `/scim/v2/`. */
export const scimCall = (platform: RunningPlatform, key: string, method: string, path: string, body?: object) =>
  platform.send({
    method,
    path: `/scim/v2/${path}`,
    key,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { "content-type": "application/scim+json" },
  });
