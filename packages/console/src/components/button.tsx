// A button of the console, primary, plain, quiet or dangerous.

import { Button as AriaButton, type ButtonProps } from "react-aria-components/Button";

export type ButtonKind = "primary" | "plain" | "quiet" | "danger";

/** `isPending`: the button is busy and ignores presses. */
export function Button({ kind = "plain", ...props }: Omit<ButtonProps, "className"> & { readonly kind?: ButtonKind }) {
  return <AriaButton {...props} className={`button ${kind}`} />;
}
