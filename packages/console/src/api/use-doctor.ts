// Findings of the doctor of the server, for users who may read them: they name files of the server's machine.

import { useQuery } from "@tanstack/react-query";
import { useApi } from "./api-context.tsx";
import { useMay } from "./use-may.ts";

const DOCTOR_PATH = "/doctor";
/** Files and certificates change rarely. */
const FRESH_MS = 60_000;

export type Finding = {
  readonly check: string;
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly message: string;
  readonly remedy?: string;
};

export const isProblem = ({ status }: Finding): boolean => status === "warning" || status === "error";

/** `findings` is undefined while they are loading, and for users who may not read them. */
export function useDoctor() {
  const { client } = useApi();
  const right = useMay({ verb: "get", path: DOCTOR_PATH });
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ["doctor"],
    queryFn: async ({ signal }) =>
      (await client.request({ method: "GET", path: DOCTOR_PATH, signal })) as { readonly findings: readonly Finding[] },
    enabled: right.isAllowed,
    staleTime: FRESH_MS,
    retry: false,
  });
  return { isAllowed: right.isAllowed, findings: data?.findings, isLoading, error, retry: () => void refetch() };
}
