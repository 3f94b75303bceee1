// Access reviews for the signed-in user. The console never guesses permissions.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { useQuery } from "@tanstack/react-query";
import { settings } from "../settings.ts";
import { t } from "../texts/text.tsx";
import { useApi } from "./api-context.tsx";

export type Wish = ResourceWish | PathWish;

/** A non-resource URL. */
type PathWish = { readonly verb: string; readonly path: string };

type ResourceWish = {
  readonly verb: string;
  readonly resource: string;
  /** Default: the group of the management API. */
  readonly group?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
};

export type Right = {
  /** False until the server has answered. */
  readonly isAllowed: boolean;
  readonly isKnown: boolean;
  /** If not allowed: the server's reason, or the permission that is missing. */
  readonly reason: string;
};

/** One SelfSubjectAccessReview. Its result is cached for 30 seconds. */
export function useMay(wish: Wish): Right {
  const { client } = useApi();
  const { data } = useQuery({
    queryKey: ["may", wish],
    queryFn: ({ signal }) => review(client, wish, signal),
    staleTime: FRESH_MS,
  });
  return rightOf(wish, data);
}

/** Whether it is allowed in any, or in every, one of `namespaces`: reviews them one after the other until the result is known. */
export function useMaySomewhere(wish: Omit<ResourceWish, "namespace">, namespaces: readonly string[]): Right {
  const { client } = useApi();
  const { data } = useQuery({
    queryKey: ["may", wish, namespaces],
    async queryFn({ signal }) {
      const everywhere = await review(client, wish, signal);
      if (everywhere.allowed) return everywhere;
      for (const namespace of namespaces) {
        const there = await review(client, { ...wish, namespace }, signal);
        if (there.allowed) return there;
      }
      return everywhere;
    },
    staleTime: FRESH_MS,
  });
  return rightOf(wish, data);
}

const FRESH_MS = 30_000;

type Verdict = { readonly allowed: boolean; readonly reason?: string };

async function review(client: ApiClient, wish: Wish, signal: AbortSignal): Promise<Verdict> {
  const spec: JsonObject =
    "path" in wish
      ? { nonResourceAttributes: { ...wish } }
      : { resourceAttributes: { group: settings.managementGroup, ...wish } };
  const answer = (await client.request({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec,
    },
    signal,
  })) as { readonly status: Verdict };
  return answer.status;
}

function rightOf(wish: Wish, verdict: Verdict | undefined): Right {
  const isAllowed = verdict?.allowed === true;
  return { isAllowed, isKnown: verdict !== undefined, reason: isAllowed ? "" : verdict?.reason || wordsOf(wish) };
}

/** For example: You need permission to update virtualclusterinstances/demo. */
function wordsOf(wish: Wish): string {
  if ("path" in wish) return t("may.not", { verb: wish.verb, what: wish.path });
  const { verb, resource, subresource, name } = wish;
  return t("may.not", { verb, what: [resource, name, subresource].filter(Boolean).join("/") });
}
