import { describe, expect, it } from "vitest";
import { isIgnored } from "../../src/machine/cloud-init.ts";

const MIME = "Content-Type: multipart/mixed; boundary=x\nMIME-Version: 1.0\n\n--x\n";

describe("what cloud-init does something with", () => {
  it.each([
    ["nothing at all", ""],
    ["blank", " \n"],
    ["cloud-config", "#cloud-config\nruncmd: [ls]\n"],
    ["the same behind blank lines and in capitals", "\n  #Cloud-Config\n"],
    ["an archive of it", "#cloud-config-archive\n- {}\n"],
    ["a script", "#!/bin/sh\necho hello\n"],
    ["addresses of more", "#include\nhttps://example.com/a\n"],
    ["addresses that are read once", "#include-once\nhttps://example.com/a\n"],
    ["a boothook", "#cloud-boothook\n#!/bin/sh\n"],
    ["a part handler", "#part-handler\n"],
    ["a template", "## template: jinja\n#cloud-config\n"],
    ["a message of several parts", MIME],
    ["the same with other headers before", `From: me\n${MIME}`],
    ["what is encoded", btoa("#cloud-config\npackages: []\n")],
    ["what is compressed and encoded", btoa("\u001f\u008b\u0008\u0000\u0000\u0000")],
  ])("is %s", (_, userData) => {
    expect(isIgnored(userData)).toBe(false);
  });

  it.each([
    ["a command alone", "echo hello"],
    ["cloud-config without its first line", "packages: [git]\n"],
    ["a first line that is another comment", "# cloud-config\npackages: [git]\n"],
    ["a word before it", "cloud-init #cloud-config\n"],
    ["a word that is base64", "abcd"],
    ["what is encoded and none of it", btoa("echo hello")],
    ["base64 that ends nowhere", "abcde"],
    ["headers far below", `${"echo hello\n".repeat(500)}${MIME}`],
  ])("is not %s", (_, userData) => {
    expect(isIgnored(userData)).toBe(true);
  });
});
