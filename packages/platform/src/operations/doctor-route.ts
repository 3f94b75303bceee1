// GET /doctor: the findings of the doctor about a server that runs, for the console.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { jsonResponse } from "@postern/apiserver/transport/api-response";

/** Open to callers that RBAC lets `get` it: the platform's administrators. Findings name files of the server's machine. */
export const DOCTOR_PATH = "/doctor";

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
export function createDoctorHandler({ examine, clock }: { readonly examine: Examine; readonly clock: Clock }): Handler {
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
  return async ({ request }) => {
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowedError();
    return jsonResponse(200, JSON.stringify({ findings: await findings() }));
  };
}
