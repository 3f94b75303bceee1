// Asks the server what an identity provider says, and whom a token or claims of it would sign in. Nobody is signed in, and what is tested stays in
// this form.

import type { IdentityProviderTest } from "@postern/api/identity-provider";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { IDENTITY_PROVIDERS, managementVersion } from "../api/resources.ts";
import { useMay } from "../api/use-may.ts";
import { Badge } from "../components/badge.tsx";
import { Button } from "../components/button.tsx";
import { DescriptionList } from "../components/description-list.tsx";
import { ErrorNotice, Notice } from "../components/notice.tsx";
import { TextField } from "../components/text-field.tsx";
import { named, t } from "../texts/text.tsx";
import { CheckList } from "./trust/check-list.tsx";

/** A JSON object has claims; anything else is a token. Throws SyntaxError. */
function questionIn(text: string): NonNullable<IdentityProviderTest["spec"]> {
  const given = text.trim();
  if (given === "") return {};
  return given.startsWith("{") ? { claims: JSON.parse(given) } : { idToken: given };
}

export function TestProvider({ name }: { readonly name: string }) {
  const { client } = useApi();
  const right = useMay({ verb: "create", resource: IDENTITY_PROVIDERS.resource, subresource: "test", name });
  const [text, setText] = useState("");
  const test = useMutation({
    gcTime: 0,
    async mutationFn() {
      const body = {
        apiVersion: managementVersion,
        kind: "IdentityProviderTest",
        metadata: {},
        spec: questionIn(text),
      };
      const providers = createResourceClient(client, IDENTITY_PROVIDERS);
      // The kind has this shape: see its schema in the API.
      const { status } = (await providers.createSubresource(name, "test", body as never)) as IdentityProviderTest;
      return status ?? {};
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    test.mutate();
  };
  if (!right.isAllowed) return null;
  return (
    <details className="aside">
      <summary>{t("provider.test.title")}</summary>
      <form className="form narrow" onSubmit={submit}>
        <TextField
          label={t("provider.test.text")}
          value={text}
          onChange={(value) => {
            test.reset();
            setText(value);
          }}
          isMultiline
          isMonospace
          autoComplete="off"
          description={t("provider.test.hint")}
        />
        <div>
          <Button type="submit" isPending={test.isPending}>
            {t("provider.test.submit")}
          </Button>
        </div>
        <div aria-live="polite" className="stack">
          {test.isError && <ErrorNotice error={test.error} />}
          {test.data !== undefined && <Verdict verdict={test.data} />}
        </div>
      </form>
    </details>
  );
}

function Verdict({
  verdict: { accepted = false, checks = [], identity, user },
}: {
  readonly verdict: NonNullable<IdentityProviderTest["status"]>;
}) {
  return (
    <>
      <p>
        <Badge tone={accepted ? "good" : "bad"}>
          {accepted ? t("provider.test.accepted") : t("provider.test.refused")}
        </Badge>
      </p>
      <CheckList checks={checks} />
      {identity !== undefined && (
        <DescriptionList
          items={[
            ...(user === undefined
              ? []
              : [[t("provider.test.user"), `${user.name} (${named("provider.test.how", user.how ?? "")})`] as const]),
            [t("provider.test.username"), identity.username],
            [t("provider.test.subject"), <code key="subject">{identity.subject}</code>],
            [t("provider.test.groups"), identity.groups?.join(", ")],
            [t("provider.test.teams"), user?.teams?.join(", ")],
          ]}
        />
      )}
      {identity?.warning !== undefined && identity.warning !== "" && <Notice tone="warn">{identity.warning}</Notice>}
    </>
  );
}
