// GET /doctor: the findings of the doctor about a server that runs, for the console.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../foundation/foundation.ts";
import type { ManagementRoute } from "../foundation/http/feature-route.ts";

/** Open to callers that RBAC lets `get` it: the platform's administrators. Findings name files of the server's machine. */
const DOCTOR_PATH = "/doctor";

/** It reads a few files: more requests than that get the same answer. */
const FRESH_MS = 10_000;

/** `now` in milliseconds since the epoch. Resolves with what `postern doctor` prints, which contains no secrets. */
export type Examine = (now: number) => Promise<
  readonly {
    readonly check: string;
    readonly status: "ok" | "warning" | "error" | "skipped";
    readonly message: string;
    readonly remedy?: string;
  }[]
>;

/** Answers `{"findings": [...]}`. */
export function doctorRoute({ runtime: { clock } }: Pick<Foundation, "runtime">, examine: Examine): ManagementRoute {
  let last: { readonly at: number; readonly findings: ReturnType<Examine> } | undefined;
  const findings = (): ReturnType<Examine> => {
    const now = clock.now();
    if (last !== undefined && Math.abs(now - last.at) < FRESH_MS) return last.findings;
    last = { at: now, findings: examine(now) };
    // The next request tries again.
    last.findings.catch(() => {
      last = undefined;
    });
    return last.findings;
  };
  return {
    path: DOCTOR_PATH,
    async handle({ request }) {
      if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowedError();
      return jsonResponse(200, JSON.stringify({ findings: await findings() }));
    },
  };
}
