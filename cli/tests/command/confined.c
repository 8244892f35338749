/* A library that tries to leave the sandbox when it is loaded, and prints the outcome of each attempt. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void print(const char *attempt, long result) {
    int is_denied = result < 0 && (errno == EACCES || errno == EPERM);
    fprintf(stderr, "%s: %s\n", attempt, result >= 0 ? "done" : is_denied ? "denied" : strerror(errno));
}

__attribute__((constructor)) static void leave(void) {
    char secret[4096], out[4096];
    const char *outside = getenv("OUTSIDE"), *inside = getenv("INSIDE");
    snprintf(secret, sizeof secret, "%s/secret", outside);
    snprintf(out, sizeof out, "%s/new", outside);
    print("read", open(secret, O_RDONLY));
    print("list", open(outside, O_RDONLY | O_DIRECTORY));
    print("write", open(secret, O_WRONLY));
    print("create", open(out, O_WRONLY | O_CREAT, 0600));
    print("truncate", truncate(secret, 0));
    print("remove", unlink(secret));
    print("rename", rename(secret, out));
    print("link", link(secret, out));
    print("symlink", symlink("/", out));
    print("chmod", chmod(secret, 0777));
    print("chown", chown(secret, 1, 1));
    print("utimes", utimensat(AT_FDCWD, secret, NULL, 0));
    print("setxattr", syscall(SYS_setxattr, secret, "user.x", "y", 1, 0));
    print("socket", socket(AF_INET, SOCK_STREAM, 0));
    print("udp", socket(AF_INET, SOCK_DGRAM, 0));
    print("unix", socket(AF_UNIX, SOCK_STREAM, 0));
    print("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
    print("ptrace", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
    /* Landlock restricts signals from its version 6, of Linux 6.12. */
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 6) print("signal", kill(getppid(), 0));
    snprintf(secret, sizeof secret, "/proc/%d/environ", getppid());
    char byte;
    int environment = open(secret, O_RDONLY);
    print("environment of the parent", environment < 0 ? environment : read(environment, &byte, 1));
#ifdef __x86_64__
    print("x32", syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0));
#endif
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "cat \"$OUTSIDE/secret\" >&2", NULL);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    errno = EACCES;
    print("read in a process", status == 0 ? 0 : -1);
    snprintf(out, sizeof out, "%s/inside", inside);
    print("write inside", open(out, O_WRONLY | O_CREAT, 0600));
}
