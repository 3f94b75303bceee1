// The signed-in user, as the server sees it: name, subject, teams and groups.

import type { Self } from "@postern/api/self";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useQuery } from "@tanstack/react-query";
import { settings } from "../settings.ts";
import { useApi } from "./api-context.tsx";
import { managementVersion } from "./resources.ts";

export type SelfStatus = NonNullable<Self["status"]>;

export function useSelf({ isWanted = true }: { readonly isWanted?: boolean } = {}) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["self"],
    enabled: isWanted,
    async queryFn({ signal }): Promise<SelfStatus> {
      const body: JsonObject = { apiVersion: managementVersion, kind: "Self", metadata: {}, spec: {} };
      const path = `/apis/${settings.managementGroup}/v1/selves`;
      const answer = (await client.request({ method: "POST", path, body, signal })) as Self;
      return answer.status ?? {};
    },
  });
}
