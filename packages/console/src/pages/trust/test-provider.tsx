// Asks the server what an identity provider says, and which user a token or claims of it would sign in. No session begins.

import "./trust-texts.ts";
import type { IdentityProviderTest } from "@postern/api/identity-provider";
import { createResourceClient } from "@postern/client/resource-client";
import { useApi } from "../../api/api-context.tsx";
import { IDENTITY_PROVIDERS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { DescriptionList } from "../../components/description-list.tsx";
import { Notice } from "../../components/notice.tsx";
import { named, t } from "../../texts/text.tsx";
import { TestForm } from "./test-form.tsx";

type Verdict = NonNullable<IdentityProviderTest["status"]>;

/** A JSON object has claims; anything else is a token. Throws SyntaxError. */
function questionIn(text: string): NonNullable<IdentityProviderTest["spec"]> {
  if (text === "") return {};
  return text.startsWith("{") ? { claims: JSON.parse(text) } : { idToken: text };
}

export function TestProvider({ name }: { readonly name: string }) {
  const { client } = useApi();
  const right = useMay({ verb: "create", resource: IDENTITY_PROVIDERS.resource, subresource: "test", name });
  const ask = async (text: string): Promise<Verdict> => {
    const spec = questionIn(text);
    const providers = createResourceClient(client, IDENTITY_PROVIDERS);
    // The kind has this shape: see its schema in the API.
    const body = { kind: "IdentityProviderTest", spec };
    const { status } = (await providers.createSubresource(name, "test", body as never)) as IdentityProviderTest;
    return status ?? {};
  };
  if (!right.isAllowed) return null;
  return (
    <details className="aside">
      <summary>{t("provider.test.title")}</summary>
      <TestForm
        label={t("provider.test.text")}
        hint={t("provider.test.hint")}
        submit={t("provider.test.submit")}
        ask={ask}
        words={(isAccepted) => t(isAccepted ? "provider.test.accepted" : "provider.test.refused")}
      >
        {(verdict) => <Identity verdict={verdict} />}
      </TestForm>
    </details>
  );
}

function Identity({ verdict: { identity, user } }: { readonly verdict: Verdict }) {
  if (identity === undefined) return null;
  const { warning = "" } = identity;
  return (
    <>
      <DescriptionList
        items={[
          user !== undefined && [t("field.user"), `${user.name} (${named("provider.test.how", user.how ?? "")})`],
          [t("field.username"), identity.username],
          [t("provider.test.subject"), <code key="subject">{identity.subject}</code>],
          [t("field.groups"), identity.groups?.join(", ")],
          [t("field.teams"), user?.teams?.join(", ")],
        ]}
      />
      {warning !== "" && <Notice tone="warn">{warning}</Notice>}
    </>
  );
}
