// The value of an access key, which the server shows once. Only this component keeps it.

import { useQuery } from "@tanstack/react-query";
import { Code, CopyButton, DownloadButton } from "../../components/copy-text.tsx";
import { Notice } from "../../components/notice.tsx";
import { t } from "../../texts/text.tsx";

const AUTHORITY = "/console/ca.crt";

export function SecretValue({ name, value }: { readonly name: string; readonly value: string }) {
  const authority = useAuthority();
  return (
    <div className="stack">
      <Notice tone="warn">{t("secret.once")}</Notice>
      <div className="secret">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
        <code className="secret-value" tabIndex={0} data-testid="secret-value">
          {value}
        </code>
        <CopyButton text={value} />
        <DownloadButton text={`${value}\n`} fileName={`${name}.key`} />
      </div>
      {authority !== "" && (
        <div className="secret">
          <p className="hint">{t("secret.authority")}</p>
          <DownloadButton text={authority} fileName="ca.crt" label={t("secret.authority.download")} />
        </div>
      )}
      <Code label={t("secret.try")} text={commandsFor(name, authority !== "")} />
    </div>
  );
}

/** The CA that signed the certificate of the server, in PEM: of no use to clients that trust the certificate anyway. Empty without one. */
function useAuthority(): string {
  const { data = "" } = useQuery({
    queryKey: ["authority"],
    async queryFn({ signal }) {
      const answer = await fetch(AUTHORITY, { signal });
      return answer.status === 200 ? await answer.text() : "";
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}

function commandsFor(name: string, hasAuthority: boolean): string {
  const { origin } = location;
  const curl = `curl ${hasAuthority ? "--cacert ca.crt " : ""}--header "Authorization: Bearer $(cat ${name}.key)" ${origin}/version`;
  return `${curl}\npostern login ${origin} ${hasAuthority ? "--ca ca.crt " : ""}< ${name}.key`;
}
