// Shows text with buttons to copy or download it.

import { Check, Copy, Download } from "lucide-react";
import { type ReactNode, useState } from "react";
import { t } from "../texts/text.tsx";
import { Button } from "./button.tsx";

const SHOWN_MS = 1_600;

export function CopyButton({ text, label = t("action.copy") }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <Button onPress={() => void copy()}>
      {isCopied ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
      <span aria-live="polite">{isCopied ? t("action.copied") : label}</span>
    </Button>
  );
}

/** `text`: a function where it is made when it is asked for. */
export function DownloadButton(props: {
  readonly text: string | (() => string);
  readonly fileName: string;
  readonly label?: string;
}) {
  const { text, fileName, label = t("action.download") } = props;
  return (
    <Button onPress={() => saveFile(typeof text === "string" ? text : text(), fileName)}>
      <Download aria-hidden="true" />
      {label}
    </Button>
  );
}

export function saveFile(text: string, fileName: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName;
  link.click();
  // The browser has started to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}

/** A command or a manifest. */
export function Code(props: { readonly text: string; readonly label: string; readonly actions?: ReactNode }) {
  const { text, label, actions } = props;
  return (
    <figure className="code">
      <figcaption>
        <span>{label}</span>
        <span className="actions">
          {actions}
          <CopyButton text={text} />
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
