// Options of sign-in with identity providers.

import { listOption } from "../option.ts";
import { federatedTokenFiles } from "../rules.ts";

export const signInOptions = {
  federatedTokenFiles: listOption({
    flag: "federated-token-file",
    placeholder: "<issuer=file,…>",
    default: [],
    defaultText: "none",
    description:
      "Files with tokens that authenticate the server at identity providers with clientAuthentication FederatedToken, by the URL of their issuer: projected tokens of a Kubernetes ServiceAccount, or the file of Entra workload identity. Each is read anew for every request",
    rule: federatedTokenFiles,
  }),
};
