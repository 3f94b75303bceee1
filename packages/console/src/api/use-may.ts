// Access reviews for the signed-in user. The console never guesses permissions.

import type { Project } from "@postern/api/project";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { namespaceOf, settings } from "../settings.ts";
import { t } from "../texts/text.tsx";
import { useApi } from "./api-context.tsx";
import { projectsToAsk } from "./project-roles.ts";
import { retryUnanswered } from "./retry-unanswered.ts";
import { useSelf } from "./use-self.ts";

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
    // With the default group: the same question is asked once, however it is put.
    queryKey: ["may", specOf(wish)],
    queryFn: ({ signal }) => review(client, wish, signal),
    staleTime: FRESH_MS,
    // A page would stay without its actions.
    retry: retryUnanswered,
  });
  return rightOf(wish, data);
}

/** Whether it is allowed everywhere, or in one of `projects`: in those of `projectsToAsk`, one after the other until the result is known. */
export function useMaySomewhere(wish: Omit<ResourceWish, "namespace">, projects: readonly Project[]): Right {
  const { client } = useApi();
  const everywhere = useMay(wish);
  const isWanted = everywhere.isKnown && !everywhere.isAllowed && projects.length > 0;
  const { data: self } = useSelf({ isWanted });
  const asked = useMemo(() => (self === undefined ? undefined : projectsToAsk(projects, self)), [projects, self]);
  const { data } = useQuery({
    queryKey: ["may", wish, asked],
    enabled: isWanted && asked !== undefined,
    async queryFn({ signal }) {
      for (const project of asked ?? []) {
        const there = await review(client, { ...wish, namespace: namespaceOf(project) }, signal);
        if (there.allowed) return there;
      }
      return { allowed: false };
    },
    staleTime: FRESH_MS,
  });
  return isWanted && data?.allowed === true ? rightOf(wish, data) : everywhere;
}

const FRESH_MS = 30_000;

const specOf = (wish: Wish): JsonObject =>
  "path" in wish
    ? { nonResourceAttributes: { ...wish } }
    : { resourceAttributes: { group: settings.managementGroup, ...wish } };

type Verdict = { readonly allowed: boolean; readonly reason?: string };

async function review(client: ApiClient, wish: Wish, signal: AbortSignal): Promise<Verdict> {
  const answer = (await client.request({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: specOf(wish),
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
