// What the person may do, asked of the server: views guess no rights.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useQuery } from "@tanstack/react-query";
import { settings } from "../settings.ts";
import { t } from "../texts/text.tsx";
import { useApi } from "./api-context.tsx";

export type Wish = ResourceWish | PathWish;

/** What is no resource. */
type PathWish = { readonly verb: string; readonly path: string };

type ResourceWish = {
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
  /** Where it refuses: in the server's words, or what right it takes. */
  readonly reason: string;
};

/** One SelfSubjectAccessReview. Its answer is kept for half a minute. */
export function useMay(wish: Wish): Right {
  const { client } = useApi();
  const spec: JsonObject =
    "path" in wish
      ? { nonResourceAttributes: { ...wish } }
      : { resourceAttributes: { group: settings.managementGroup, ...wish } };
  const { data } = useQuery({
    queryKey: ["may", spec],
    async queryFn({ signal }) {
      const answer = (await client.request({
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec,
        },
        signal,
      })) as { readonly status: { readonly allowed: boolean; readonly reason?: string } };
      return answer.status;
    },
    staleTime: 30_000,
  });
  const isAllowed = data?.allowed === true;
  return { isAllowed, isKnown: data !== undefined, reason: isAllowed ? "" : data?.reason || wordsOf(wish) };
}

/** Such as: you need permission to update virtualclusterinstances/demo. */
function wordsOf(wish: Wish): string {
  if ("path" in wish) return t("may.not", { verb: wish.verb, what: wish.path });
  const { verb, resource, subresource, name } = wish;
  return t("may.not", { verb, what: [resource, name, subresource].filter(Boolean).join("/") });
}
