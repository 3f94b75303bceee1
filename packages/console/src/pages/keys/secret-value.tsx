// The value of an access key, which the server shows once. Only this component keeps it.

import { Code, CopyButton, DownloadButton } from "../../components/copy-text.tsx";
import { Notice } from "../../components/notice.tsx";
import { t } from "../../texts/text.tsx";

export function SecretValue({ name, value }: { readonly name: string; readonly value: string }) {
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
      <Code
        label={t("secret.try")}
        text={`curl --header "Authorization: Bearer $(cat ${name}.key)" ${location.origin}/version\npostern login ${location.origin} < ${name}.key`}
      />
    </div>
  );
}
