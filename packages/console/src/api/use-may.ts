// What the person may do, asked of the server: views guess no rights.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useQuery } from "@tanstack/react-query";
import { settings } from "../settings.ts";
import { useApi } from "./api-context.tsx";

export type Wish = {
  readonly verb: string;
  readonly resource: string;
  /** Default: that of the management API. */
  readonly group?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
};

export type Right = {
  /** False until the server has answered. */
  readonly isAllowed: boolean;
  readonly isKnown: boolean;
  /** In the server's words, where it refuses. */
  readonly reason: string;
};

/** One SelfSubjectAccessReview. Its answer is kept for half a minute. */
export function useMay(wish: Wish): Right {
  const { client } = useApi();
  const { group = settings.managementGroup, ...others } = wish;
  const resourceAttributes = { group, ...others };
  const { data } = useQuery({
    queryKey: ["may", resourceAttributes],
    async queryFn({ signal }) {
      const answer = (await client.request({
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec: { resourceAttributes: resourceAttributes as JsonObject },
        },
        signal,
      })) as { readonly status: { readonly allowed: boolean; readonly reason?: string } };
      return answer.status;
    },
    staleTime: 30_000,
  });
  return { isAllowed: data?.allowed === true, isKnown: data !== undefined, reason: data?.reason ?? "" };
}
