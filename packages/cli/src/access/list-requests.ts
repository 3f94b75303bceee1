// `postern access list`: the caller's requests, and those that it may approve.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { type OutputFlags, writeAs } from "../output/output-option.ts";
import { cellText, printRows } from "../output/print-table.ts";
import { accessRequestsOf, approvalsText, asRequest, targetText } from "./access-requests.ts";

export type AccessListFlags = ConnectionFlags & OutputFlags & { readonly state?: string };

const HEADINGS = ["name", "phase", "requester", "target", "role", "until", "approvals", "reason"];

export const listRequests = (flags: AccessListFlags, context: CommandContext): Promise<void> =>
  withClient(flags, context, async (client, group) => {
    const { items } = await accessRequestsOf(client, group).list();
    const wanted = flags.state?.toLowerCase().split(",");
    const found = items.filter((object) => wanted?.includes(phaseOf(object).toLowerCase()) ?? true);
    const names = found.map(({ metadata }) => metadata.name ?? "");
    // Objects of an API are JSON; their type describes each member.
    if (writeAs(flags, found as readonly KubeObject[] as JsonValue, context, names)) return;
    // The phase may be mistyped.
    const phases = [...new Set(items.map(phaseOf))].sort();
    const others =
      phases.length === 0 ? "no access requests" : `no such access requests: PHASE is ${phases.join(" or ")}`;
    if (found.length === 0) context.stderr.write(`${others}\n`);
    else context.stdout.write(printRows(HEADINGS, found.map(rowOf)));
  });

const phaseOf = (object: KubeObject): string => asRequest(object).status?.phase ?? "Pending";

function rowOf(object: KubeObject): readonly string[] {
  const request = asRequest(object);
  const phase = phaseOf(object);
  const { requester, expirationTimestamp } = request.status ?? {};
  return [
    object.metadata.name,
    phase,
    requester?.user,
    targetText(request),
    request.spec?.role,
    phase === "Approved" ? expirationTimestamp : "",
    approvalsText(request),
    request.spec?.reason,
  ].map((value) => cellText(value ?? ""));
}
