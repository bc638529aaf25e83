// Public keys made for these tests, with the fingerprints that `ssh-keygen -E md5 -l` gives them.

/** An Ed25519 key without a comment. */
export const KEY_A = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICdzIDkKAt9tVzchZUiYAchUGmrfdiEsXM/bfrssDge3";
export const FINGERPRINT_A = "f3:8e:62:4f:c4:ae:d3:94:7d:e8:09:b8:7a:40:a4:c6";

/** Another one. */
export const KEY_B = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAUvAoy1A04I5EJEAZJVba12XwMZePGahkdVAiWFAJ3E";
export const FINGERPRINT_B = "0f:9a:01:f7:4a:99:f9:c2:57:bf:3c:e8:8d:2b:dd:be";

export const ECDSA_KEY =
  "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBK7gtdLtkKx51LlVbqUiYbcPjiLa5HYbo00TzwmTtN8HGXZUQkiz5Z+tXKeEHPp4jFEv8LrGGd9CYXWo7pc0jik=";
export const ECDSA_FINGERPRINT = "5d:c1:77:ec:b8:18:97:f0:53:dd:81:ad:d2:a6:0b:c7";

export const RSA_KEY = [
  "ssh-rsa ",
  "AAAAB3NzaC1yc2EAAAADAQABAAABAQDHufe8/J1zhh/s/lrAClf6tQ8XWnmutQ1IlUR0mbeV4/thTSdxPb3unuVhtsDXkPLivRcO",
  "3f1/B3K8BsPjvPpFmzCYSUivlugiGjJ6Rr5cEw//tJts+6v17v3XqXac4I/L0gUQd3XrDn8qQ0mAgVYEmd/fpYvBY3UX49GSNxMo",
  "HYj5InOlT4oWabdKN1ubV2BretZyNVjYfGWcC8D2SZkD+39F4pNkIW0ooVEDpqSSERfQuk8eFA9gyHemNSbSs2vjF/YSD7Ndl3ts",
  "VC7937uY81LHwJm+vP/NpJpMb8bdV5QqyN1b+JLfm14IaxUZjn34TacQ0QmDMxVl5ov4PEIH",
].join("");
export const RSA_FINGERPRINT = "73:9e:34:2f:4e:27:87:58:82:b1:36:cd:e9:50:88:26";
