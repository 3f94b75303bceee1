// The work of the server in the last day, for users who may read it.

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.tsx";
import { retryUnanswered } from "../../api/retry-unanswered.ts";
import { useMay } from "../../api/use-may.ts";

const PATH = "/activity";
const REFRESH_MS = 60_000;

export type CountedKey = {
  /** The public handle. */
  readonly id: string;
  /** Absent: no access key of now has this handle. */
  readonly name?: string;
  /** The owner of the key; for a client certificate, the user name in it. */
  readonly owner?: string;
  /** The virtual cluster of a client certificate: `<project>/<name>`. */
  readonly virtualCluster?: string;
  readonly count: number;
};

export type Change = {
  readonly at: string;
  readonly user: string;
  readonly key?: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
};

/** The response of the route: counts of each minute, oldest first. */
export type Activity = {
  readonly from: string;
  readonly requests: readonly number[];
  readonly refused: readonly number[];
  readonly failed: readonly number[];
  readonly watches: readonly number[];
  readonly openWatches: number;
  readonly alerts: { readonly webhook: boolean; readonly metricsReadAt?: string };
  readonly used: readonly CountedKey[];
  readonly refusedKeys: readonly CountedKey[];
  /** The changes of the last hour, newest first. */
  readonly changes: readonly Change[];
};

/** `activity` is undefined while it is loading, and for users who may not read it. */
export function useActivity() {
  const { client } = useApi();
  const right = useMay({ verb: "get", path: PATH });
  const { data, error } = useQuery({
    queryKey: ["activity"],
    queryFn: async ({ signal }) => (await client.request({ method: "GET", path: PATH, signal })) as Activity,
    enabled: right.isAllowed,
    refetchInterval: REFRESH_MS,
    retry: retryUnanswered,
  });
  return { activity: data, error, isAllowed: right.isAllowed };
}
