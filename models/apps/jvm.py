"""What programs on a JVM print with their stack traces.

Frames are those of OpenJDK 17 (java.base), Tomcat 10.1 and gRPC's Netty over epoll, whose native errors have none.
"""

from __future__ import annotations

from simcluster.engine import format_rfc3339

_ACCEPT = """\
java.io.IOException: {text}
\tat java.base/sun.nio.ch.Net.accept(Native Method)
\tat java.base/sun.nio.ch.ServerSocketChannelImpl.implAccept(ServerSocketChannelImpl.java:425)
\tat java.base/sun.nio.ch.ServerSocketChannelImpl.accept(ServerSocketChannelImpl.java:391)
\tat org.apache.tomcat.util.net.NioEndpoint.serverSocketAccept(NioEndpoint.java:520)
\tat org.apache.tomcat.util.net.NioEndpoint.serverSocketAccept(NioEndpoint.java:78)
\tat org.apache.tomcat.util.net.Acceptor.run(Acceptor.java:129)
\tat java.base/java.lang.Thread.run(Thread.java:840)"""
_NETTY = """\
{stamp} WARN  io.grpc.netty.shaded.io.netty.channel.DefaultChannelPipeline - An exceptionCaught() event was fired, and \
it reached at the tail of the pipeline. It usually means the last handler in the pipeline did not handle the exception.
io.grpc.netty.shaded.io.netty.channel.unix.Errors$NativeIoException: accept(..) failed: {text}"""
_START = """\
Exception in thread "main" java.io.IOException: Cannot run program "{program}": error={number}, {text}
\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)
\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1073)
\tat java.base/java.lang.Runtime.exec(Runtime.java:594)
\tat java.base/java.lang.Runtime.exec(Runtime.java:453)
Caused by: java.io.IOException: error={number}, {text}
\tat java.base/java.lang.ProcessImpl.forkAndExec(Native Method)
\tat java.base/java.lang.ProcessImpl.<init>(ProcessImpl.java:314)
\tat java.base/java.lang.ProcessImpl.start(ProcessImpl.java:244)
\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1110)
\t... 3 more"""
_WRITE = """\
Exception in thread "main" java.io.IOException: {text}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\tat java.base/java.io.FileOutputStream.write(FileOutputStream.java:349)
\tat java.base/java.io.BufferedOutputStream.flushBuffer(BufferedOutputStream.java:81)
\tat java.base/java.io.BufferedOutputStream.flush(BufferedOutputStream.java:142)"""


def accept_failed(text: str, now_ns: int, *, grpc: bool) -> str:
    """What a server says of a connection that it could not accept."""
    if grpc:
        return _NETTY.format(stamp=format_rfc3339(now_ns, digits=3), text=text)
    stamp = format_rfc3339(now_ns, digits=3)
    head = f"{stamp} ERROR 1 --- [o-8080-Acceptor] org.apache.tomcat.util.net.Acceptor      : Socket accept failed"
    return f"{head}\n\n{_ACCEPT.format(text=text)}"


def not_started(program: str, number: int, text: str) -> tuple[str, ...]:
    """The lines of a thread that ends because no child process can be had."""
    return tuple(_START.format(program=program, number=number, text=text).split("\n"))


def not_written(text: str) -> tuple[str, ...]:
    """The lines of a thread that ends because a file cannot be written."""
    return tuple(_WRITE.format(text=text).split("\n"))
