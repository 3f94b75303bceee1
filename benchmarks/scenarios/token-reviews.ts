// TokenReviews, as sent by an API server that authenticates with Postern.

import type { Scenario } from "./scenario.ts";

export const TOKEN_REVIEW: Scenario = {
  name: "Token review",
  order: ({ kind, target, seconds }) =>
    kind === "peer"
      ? undefined
      : {
          kind: "load",
          target,
          protocol: "h2",
          inFlight: 32,
          seconds,
          request: {
            method: "POST",
            path: kind === "bare" ? "/bytes/700" : "/apis/authentication.k8s.io/v1/tokenreviews",
            body: JSON.stringify({
              apiVersion: "authentication.k8s.io/v1",
              kind: "TokenReview",
              spec: { token: target.token },
            }),
          },
        },
};
